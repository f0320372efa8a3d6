"""The private services that the other tests use."""

import psycopg
import redis


def test_a_fresh_postgresql_database_each_time(postgres_url):
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute(
            "select count(*) from pg_tables where schemaname = 'public'"
        ).fetchone() == (0,)


def test_redis_answers(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        assert client.ping()
