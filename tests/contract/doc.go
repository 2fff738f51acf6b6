// Package contract holds the conversations that say how the hosts answer, and
// plays them; see README.md.
package contract
