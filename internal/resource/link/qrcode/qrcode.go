// Package qrcode draws QR codes of short texts, as PNG or SVG.
//
// It is apart from links, because only who draws them needs the module that it rests on.
package qrcode

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Sizes of a QR code, in pixels of its side.
const (
	MinSize     = 64
	MaxSize     = 2048
	DefaultSize = 512
)

// quiet is how many modules stay white on each side of a QR code.
const quiet = 4

// Code is a QR code that is to be drawn. It is safe for concurrent use.
type Code struct{ modules barcode.Barcode }

// New returns the QR code of a text, of which a seventh may be spoilt; one of more bytes
// than a code holds is an error.
func New(text string) (*Code, error) {
	modules, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("generating a QR code of %d bytes: %w", len(text), err)
	}
	return &Code{modules}, nil
}

// side is how many modules the code has on a side, with those around it.
func (c *Code) side() int { return c.modules.Bounds().Dx() + 2*quiet }

func (c *Code) dark(x, y int) bool { return c.modules.At(x, y) == color.Black }

// PNG draws the code with size pixels on a side. It returns a Validation error for a size
// in which there is no pixel for each module.
func (c *Code) PNG(size int) ([]byte, error) {
	scale := size / c.side()
	if scale == 0 {
		return nil, apierr.Invalid("size", "range", fmt.Sprintf("size must be at least %d for a PNG of this link", c.side()))
	}
	n := c.modules.Bounds().Dx()
	margin := (size - n*scale) / 2
	img := image.NewPaletted(image.Rect(0, 0, size, size), color.Palette{color.White, color.Black})
	for y := range n * scale {
		row := img.Pix[(margin+y)*img.Stride+margin:]
		for x := range n * scale {
			if c.dark(x/scale, y/scale) {
				row[x] = 1
			}
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, fmt.Errorf("encoding a QR code: %w", err)
	}
	return out.Bytes(), nil
}

// SVG draws the code for size pixels on a side; it can be shown at any other.
func (c *Code) SVG(size int) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" shape-rendering="crispEdges">`+
			`<path fill="#fff" d="M0 0h%dv%dH0z"/><path d="`, size, size, c.side(), c.side(), c.side(), c.side())
	n := c.modules.Bounds().Dx()
	for y := range n {
		for x := 0; x < n; x++ {
			from := x
			for x < n && c.dark(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&out, "M%d %dh%dv1h-%dz", quiet+from, quiet+y, x-from, x-from)
			}
		}
	}
	out.WriteString(`"/></svg>`)
	return out.Bytes()
}
