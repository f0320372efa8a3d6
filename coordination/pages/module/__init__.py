"""What the module page says, taken from what the module is: settings, core, wire shapes, served routes.

Words stand here or in `templates/module`; figures, fields, samples and paths never do.
"""
