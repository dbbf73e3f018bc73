"""AG-UI server: agents for applications that show each step while it happens."""
