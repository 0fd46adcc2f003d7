"""The calculators and labs, page by page, without a browser."""
