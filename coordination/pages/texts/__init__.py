"""The words that the pages' scripts show, by the scripts' own keys."""
