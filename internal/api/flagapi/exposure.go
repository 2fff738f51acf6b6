package flagapi

import "github.com/millrace/millrace/internal/resource/flag/exposure"

// Exposures takes note of what people were served; *exposure.Collector does.
type Exposures interface {
	// Expose is called for each flag that was asked for by its key and is served, before the
	// response is sent, and for each that a client tells of. It must not wait, and is called by
	// many at the same time.
	Expose(e *Exposure)
}

// Exposure is what somebody was served of a flag. It and its texts are valid during the call
// only: they are the memory of a request.
type Exposure = exposure.Exposure
