package credential

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"

	"github.com/millrace/millrace/internal/platform/config"
)

// Explain returns a RejectionError for an error that tells of certificates or versions of
// TLS, and any other error as it is.
func Explain(prefix string, cfg config.TLS, err error) error {
	if err == nil || Rejected(err) {
		return err
	}
	if r := unverified(prefix, cfg, err); r != nil {
		return r
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return Reject(prefix+".enabled", err, "the server does not encrypt connections at this address")
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "remote error" {
		return alert(prefix, cfg, err)
	}
	return err
}

// unverified says why we do not believe the server.
func unverified(prefix string, cfg config.TLS, err error) error {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		if cfg.CAFile == "" {
			return Reject(prefix+".ca_file", err,
				"is empty, and none of the system's authorities has signed the server's certificate")
		}
		return rejectf(prefix+".ca_file", err, "no authority in %s has signed the server's certificate", cfg.CAFile)
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return Reject(prefix+".server_name", err,
			"the server's certificate is for another name; correct the address, or say the name here")
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if e.Reason == x509.Expired {
			return Reject(prefix+".ca_file", err, "the server's certificate, or its authority's, is not valid at this time")
		}
		return Reject(prefix+".ca_file", err, "the server's certificate cannot be verified")
	}
	return nil
}

// ours are the alerts by which a server says that our certificate will not do.
var ours = []string{
	"bad certificate", "certificate required", "unsupported certificate", "revoked certificate", "expired certificate",
	"unknown certificate", "error decrypting message",
}

// alert says what a server's alert means for the settings.
func alert(prefix string, cfg config.TLS, err error) error {
	for _, text := range ours {
		if strings.Contains(err.Error(), "tls: "+text) {
			return unaccepted(prefix, cfg, err)
		}
	}
	if strings.Contains(err.Error(), "protocol version") {
		return Reject(prefix+".min_version", err, "the server has no version of TLS that is new enough")
	}
	return Reject(prefix+".enabled", err, "the server ended the handshake")
}

// unaccepted says that the server wants a certificate of us, or another one.
func unaccepted(prefix string, cfg config.TLS, err error) error {
	if cfg.CertFile == "" {
		return Reject(prefix+".cert_file", err, "is empty, and the server asks for a client certificate")
	}
	return rejectf(prefix+".cert_file", err, "the server does not accept the certificate in %s", cfg.CertFile)
}
