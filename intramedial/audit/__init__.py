"""Who did what, when and from where: a record that is only ever added to."""
