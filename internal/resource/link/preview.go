package link

import "github.com/millrace/millrace/internal/contract/apierr"

// Limits of a preview, in code points.
const (
	MaxPreviewTitleLen       = 200
	MaxPreviewDescriptionLen = 500
)

// Preview is what a service shows that a link is posted to. The zero value is none: the
// service looks at where the link leads then.
type Preview struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	ImageURL    string `json:"imageUrl,omitempty"`
}

func (l *Link) setPreview(bad *apierr.Rejection, p Preview, rules *Rules) {
	checkText(bad, "preview.title", p.Title, MaxPreviewTitleLen)
	checkText(bad, "preview.description", p.Description, MaxPreviewDescriptionLen)
	if p.ImageURL != "" {
		rules.checkURL(bad, "preview.imageUrl", p.ImageURL)
	}
	l.Preview = p
}
