// Package credential is what clients of backends prove themselves with, and what
// they believe: passwords, client certificates, authorities.
//
// It promises that whatever stands in a file is read again for each new connection,
// so that a rotated one counts without a restart; that a server's certificate and
// name are always verified; and that what keeps a connection from being made is one
// sentence that begins with the setting to look at and quotes no secret.
package credential
