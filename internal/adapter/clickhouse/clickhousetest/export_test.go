package clickhousetest

// Died tells whether the server of this binary has.
func Died() error { return shared.server.Died() }
