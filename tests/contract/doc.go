// Package contract holds the conversations that say how the hosts answer, and
// plays them; see README.md. It also runs the commands of the README and of guides.
package contract
