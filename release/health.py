"""Asks the running app whether it is well, at the port and path of Streamlit's variables: the image's HEALTHCHECK."""

import os
import sys
import urllib.request


def address() -> str:
    port = os.environ.get("STREAMLIT_SERVER_PORT", "8501")
    base = os.environ.get("STREAMLIT_SERVER_BASE_URL_PATH", "").strip("/")
    return f"http://127.0.0.1:{port}/{base}{'/' if base else ''}_stcore/health"


if __name__ == "__main__":
    try:
        urllib.request.urlopen(address(), timeout=4).close()
    except OSError as error:
        sys.exit(f"{address()}: {error}")
