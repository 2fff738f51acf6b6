package qrcode

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/color"
	"image/draw"
	_ "image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"

	"github.com/millrace/millrace/internal/resource/link"
)

// readQR returns what another program reads in a picture.
func readQR(t *testing.T, img image.Image) string {
	t.Helper()
	bits, err := gozxing.NewBinaryBitmapFromImage(img)
	if err != nil {
		t.Fatal(err)
	}
	found, err := qrcode.NewQRCodeReader().Decode(bits,
		map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true})
	if err != nil {
		t.Fatalf("reading the code: %v", err)
	}
	return found.GetText()
}

var run = regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1`)

// drawn is what an SVG of QR.SVG looks like with scale pixels for each module.
func drawn(t *testing.T, svg []byte, scale int) image.Image {
	t.Helper()
	var doc struct {
		ViewBox string `xml:"viewBox,attr"`
		Width   int    `xml:"width,attr"`
		Paths   []struct {
			D string `xml:"d,attr"`
		} `xml:"path"`
	}
	if err := xml.Unmarshal(svg, &doc); err != nil || len(doc.Paths) != 2 {
		t.Fatalf("%v: %.200s", err, svg)
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	side := number(strings.Fields(doc.ViewBox)[2])
	img := image.NewGray(image.Rect(0, 0, side*scale, side*scale))
	draw.Draw(img, img.Bounds(), image.White, image.Point{}, draw.Src)
	for _, m := range run.FindAllStringSubmatch(doc.Paths[1].D, -1) {
		x, y, n := number(m[1]), number(m[2]), number(m[3])
		draw.Draw(img, image.Rect(x*scale, y*scale, (x+n)*scale, (y+1)*scale), image.Black, image.Point{}, draw.Src)
	}
	return img
}

func TestAQRCodeIsReadAsTheShortURL(t *testing.T) {
	t.Parallel()
	rules := link.Rules{PublicURL: "https://Go.Example.com"}
	for _, slug := range []string{"abc", "Sale-26", strings.Repeat("x", link.MaxSlugLen)} {
		want := "https://Go.Example.com/" + slug + "?qr=1"
		text := rules.QRURL(&link.Link{Slug: slug})
		if text != want {
			t.Errorf("QRURL() = %s, want %s", text, want)
		}
		q, err := New(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{MinSize, 333, MaxSize} {
			b, err := q.PNG(size)
			if err != nil {
				t.Fatal(err)
			}
			img, _, err := image.Decode(bytes.NewReader(b))
			if err != nil || img.Bounds() != image.Rect(0, 0, size, size) {
				t.Fatalf("%d pixels: %v, %v", size, img, err)
			}
			if got := readQR(t, img); got != want {
				t.Errorf("%d pixels are read as %q, want %q", size, got, want)
			}
			scale := size / q.side()
			for i := range quiet * scale {
				if !isWhite(img.At(i, size/2)) {
					t.Fatalf("%d pixels: there is something at the edge", size)
				}
			}
		}
		if got := readQR(t, drawn(t, q.SVG(512), 4)); got != want {
			t.Errorf("the SVG is read as %q, want %q", got, want)
		}
	}
	if text := (&link.Rules{}).QRURL(&link.Link{Slug: "abc"}); text != "" {
		t.Errorf("without a host: %q", text)
	}
}

func isWhite(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return r&g&b == 0xffff
}

func TestAQRCodeThatHasNoRoomIsRejected(t *testing.T) {
	t.Parallel()
	q, err := New(strings.Repeat("x", 500))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.PNG(q.side()); err != nil {
		t.Errorf("a pixel for each module: %v", err)
	}
	if _, err := q.PNG(q.side() - 1); err == nil {
		t.Error("one less is not refused")
	}
	if _, err := New(strings.Repeat("x", 5000)); err == nil {
		t.Error("more than a code holds is not refused")
	}
}
