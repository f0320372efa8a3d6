FROM python:3.13-slim
WORKDIR /srv
COPY requirements.lock .
COPY .ci/environment .ci/
RUN .ci/environment requirements.lock
COPY . .
ENV HOST=0.0.0.0 INTRAMEDIAL_DATA_DIR=/data
CMD ["sh", "-c", ".venv/bin/python manage.py bootstrap && exec .venv/bin/python manage.py serve"]
