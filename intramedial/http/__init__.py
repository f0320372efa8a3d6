"""Requests and answers of the JSON API, independent of who asks."""
