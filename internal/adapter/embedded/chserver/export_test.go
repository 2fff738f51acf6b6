package chserver

// WithoutTerminal is cfg as on a machine that has no terminal to give.
func WithoutTerminal(cfg Config) Config {
	cfg.withoutTerminal = true
	return cfg
}
