package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"time"
)

// expirySoon is when a certificate is about to end.
const expirySoon = 14 * 24 * time.Hour

// fileProblem says what keeps a file from being used, or will soon. A file for TLS
// holds certificates or a key.
func fileProblem(path string, forTLS bool, now time.Time) (Level, string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Fail, err.Error()
	}
	if !forTLS {
		return OK, ""
	}
	block, rest := pem.Decode(data)
	if block == nil {
		return Fail, path + " holds nothing in PEM form"
	}
	for ; block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return Fail, fmt.Sprintf("%s holds a certificate that cannot be read: %v", path, err)
		}
		switch left := c.NotAfter.Sub(now); {
		case left < 0:
			return Fail, fmt.Sprintf("%s: the certificate of %s ended on %s",
				path, c.Subject, c.NotAfter.UTC().Format(time.DateOnly))
		case left < expirySoon:
			return Warn, fmt.Sprintf("%s: the certificate of %s ends on %s",
				path, c.Subject, c.NotAfter.UTC().Format(time.DateOnly))
		}
	}
	return OK, ""
}
