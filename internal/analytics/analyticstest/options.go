package analyticstest

import "time"

// Options are those of a question's type. What is not set has the type's default.
type Options struct {
	Of, Start string // of paths
	Depth     int

	Activation, Return, Period string // of retention
	HorizonDays                int
	ObservationEnd             time.Time // of the range where it is zero

	Property    string // of percentiles
	Percentiles []float64

	Steps      []Step // of a funnel
	Window     time.Duration
	PerSession bool
}

// Step is one of a funnel.
type Step struct {
	Label string
	Keep  func(*Event) bool
}
