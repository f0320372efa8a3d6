"""The texts that scripts of the pages show, by the keys that the scripts use."""

from django.utils.functional import Promise

Text = str | Promise
"""A text, or a translation that is made when it is shown."""
Texts = dict[str, Text | dict[str, Text]]
"""Texts by key; those with a number have the plural forms `one` and `other`."""
