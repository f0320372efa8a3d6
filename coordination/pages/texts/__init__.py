"""The texts that scripts of the pages show, by the keys that the scripts use."""
