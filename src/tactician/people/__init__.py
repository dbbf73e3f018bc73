"""People and programs that use a platform over a network: tokens, roles, rights, and the file that lists them."""
