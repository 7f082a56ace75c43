"""Services that answer as AWS documents it, where moto does not; each module says what it models."""
