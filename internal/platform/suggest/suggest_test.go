package suggest

import (
	"strings"
	"testing"
)

func TestClosestIsNearOrNothing(t *testing.T) {
	t.Parallel()
	settings := []string{"kafka.brokers", "kafka.linger", "log.format", "log.level"}
	types := []string{"summary_metrics", "top_pages", "custom_events", "custom_events_trends"}
	for _, tc := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"kafka.broker", settings, "kafka.brokers"},
		{"Kafka.Brokers", settings, "kafka.brokers"},
		{"log.levl", settings, "log.level"},
		{"log_level", settings, "log.level"},
		{"kafka", settings, "kafka.linger"}, // a shared beginning; the shorter rest is nearer
		{"xyzzy", settings, ""},
		{"", settings, ""},
		{"top_page", types, "top_pages"},
		{" TOP_PAGES ", types, "top_pages"},
		{"custom_event", types, "custom_events"},
		{"custom_events_trend", types, "custom_events_trends"},
		{"country", types, ""},
		{strings.Repeat("top_pages", 15), types, ""},
		{"a", nil, ""},
	} {
		if got := Closest(tc.name, tc.candidates); got != tc.want {
			t.Errorf("Closest(%q) = %q, want %q", tc.name, got, tc.want)
		}
	}
}
