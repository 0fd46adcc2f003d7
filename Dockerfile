# specviz with its bundled pair: it starts and decodes without a network. docs/hosting.md says how to build and run it.
FROM python:3.11-slim-bookworm

# The build of torch, in uv's words: cpu, or a CUDA one such as cu130. Empty takes the one of your package index.
ARG TORCH=cpu

ENV PATH=/opt/venv/bin:$PATH VIRTUAL_ENV=/opt/venv HF_HOME=/models PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app

# All packages but torch with their hashes. Then torch, whose hash depends on its build, and what that build needs.
COPY requirements.txt requirements.lock ./
RUN python3 -m venv /opt/uv \
 && /opt/uv/bin/pip install --no-cache-dir --disable-pip-version-check uv==0.13.9 \
 && python3 -m venv --without-pip /opt/venv \
 && export UV_NO_CACHE=1 UV_COMPILE_BYTECODE=1 \
 && /opt/uv/bin/uv pip install --require-hashes -r requirements.lock \
 && /opt/uv/bin/uv pip install ${TORCH:+--torch-backend $TORCH} -r requirements.txt \
 && rm -r /opt/uv

RUN useradd --uid 1000 --create-home specviz && install -d -o specviz -g specviz /models
COPY .streamlit .streamlit
COPY release/health.py release/
COPY app.py ./
COPY pages pages
COPY specviz specviz

USER 1000:1000
VOLUME /models
ENV STREAMLIT_SERVER_ADDRESS=0.0.0.0 STREAMLIT_SERVER_PORT=8501 STREAMLIT_SERVER_HEADLESS=true
# What Streamlit prints as the address. Without it, it would ask a server outside for one.
ENV STREAMLIT_BROWSER_SERVER_ADDRESS=localhost
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python3", "release/health.py"]
CMD ["streamlit", "run", "app.py"]
