package displayname

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Tags returns the display names of the field tags, each once, in the order in which they were
// sent. More than most of them, or one that Clean does not take, is noted in bad.
func Tags(bad *apierr.Rejection, tags []string, most, maxLen int) (clean []string) {
	if len(tags) > most {
		bad.Add("tags", "too_many", "tags has %d entries; at most %d are allowed", len(tags), most)
		return nil
	}
	for i, tag := range tags {
		normal, err := Clean(fmt.Sprintf("tags[%d]", i), tag, maxLen)
		bad.Merge(err)
		if !slices.Contains(clean, normal) {
			clean = append(clean, normal)
		}
	}
	return clean
}
