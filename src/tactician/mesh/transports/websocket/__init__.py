"""Direct transport over WebSockets: programs that know each other's addresses, without a broker."""
