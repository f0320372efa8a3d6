"""The module page. Its figures, fields, samples and paths come from settings, core, shapes and routes.

Only words are written here and in `templates/module`.
"""
