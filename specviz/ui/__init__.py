"""The app's pages in Streamlit: state, controls, views. Pages ask and show; what they show is computed elsewhere."""
