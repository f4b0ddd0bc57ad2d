"""Operations: what a request changes, for objects of every kind."""
