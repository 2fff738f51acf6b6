// Package connections proves that Millrace reaches production backends: encrypted,
// with certificates, users and passwords, against real servers that demand them; and
// that what does not fit is told in one sentence that names the setting, soon, and
// never the secret.
package connections
