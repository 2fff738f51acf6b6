package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// expirySoon is when a certificate is about to end.
const expirySoon = 14 * 24 * time.Hour

// fileProblem says what keeps the file of a setting from being used, or will soon. A file for TLS holds
// certificates or a key.
func fileProblem(key, path string, now time.Time) (Level, string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Fail, err.Error()
	}
	if !strings.Contains(key, ".tls.") {
		return OK, ""
	}
	block, rest := pem.Decode(data)
	if block == nil {
		return Fail, path + " contains nothing in PEM format"
	}
	var all []*x509.Certificate
	for ; block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return Fail, fmt.Sprintf("%s contains a certificate that cannot be read: %v", path, err)
		}
		all = append(all, c)
	}
	if len(all) > 0 && strings.HasSuffix(key, ".ca_file") {
		// One authority is enough: a bundle keeps those that ended beside their successors.
		longest := func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }
		all = []*x509.Certificate{slices.MaxFunc(all, longest)}
	}
	return validity(path, all, now)
}

// validity judges certificates each of which is needed.
func validity(path string, all []*x509.Certificate, now time.Time) (Level, string) {
	level, what := OK, ""
	for _, c := range all {
		switch left := c.NotAfter.Sub(now); {
		case left < 0:
			return Fail, fmt.Sprintf("%s: the certificate of %s expired on %s",
				path, c.Subject, c.NotAfter.UTC().Format(time.DateOnly))
		case now.Before(c.NotBefore):
			return Fail, fmt.Sprintf("%s: the certificate of %s is valid from %s on, or this machine's clock is slow",
				path, c.Subject, c.NotBefore.UTC().Format(time.DateOnly))
		case left < expirySoon:
			level, what = Warn, fmt.Sprintf("%s: the certificate of %s expires on %s",
				path, c.Subject, c.NotAfter.UTC().Format(time.DateOnly))
		}
	}
	return level, what
}
