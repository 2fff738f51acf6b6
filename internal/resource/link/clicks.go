package link

import "time"

// Clicks are how often persons have clicked a link. The zero value is never.
type Clicks struct {
	Count int64
	Last  time.Time // of the latest click
}
