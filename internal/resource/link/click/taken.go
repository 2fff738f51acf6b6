package click

import "github.com/millrace/millrace/internal/resource/link"

// taken is a copy of a click, and is used again for another one.
type taken struct {
	click Click
	link  link.Served
	text  []byte // that its texts are slices of
}

// keptText is how much memory for texts is kept, in bytes.
const keptText = 8 << 10

// textLen is how many bytes of text belong to whoever has the click taken.
func (c *Click) textLen() int64 {
	return int64(len(c.UserAgent) + len(c.Referrer) + len(c.Languages) + len(c.Query) + len(c.RequestID))
}

// copy makes t a click that nobody else knows.
func (t *taken) copy(c *Click) {
	if cap(t.text) > keptText {
		t.text = nil
	}
	t.click, t.text = *c, t.text[:0]
	// Of the link no more than a record tells of: it is large, and every visitor waits for this.
	t.link.ID, t.link.OrganizationID, t.link.UTM = c.Link.ID, c.Link.OrganizationID, c.Link.UTM
	own := &t.click
	own.Link = &t.link
	for _, text := range [...]*[]byte{&own.UserAgent, &own.Referrer, &own.Languages, &own.Query, &own.RequestID} {
		from := len(t.text)
		t.text = append(t.text, *text...)
		*text = t.text[from:len(t.text):len(t.text)]
	}
}
