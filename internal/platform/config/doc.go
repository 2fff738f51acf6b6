// Package config holds every setting of every daemon in one table, and reads it
// from defaults, a YAML file, MILLRACE_ environment variables and flags, in
// rising order of precedence.
//
// It promises that a setting has one name in three spellings, that every problem
// is reported at once and under the name that the operator typed, that nothing
// is ignored in silence (a name that is not in the table is an error with a
// suggestion), and that the value of a [Secret] is never printed. It refuses to
// know which settings a daemon needs: that is the caller's list
// [Options.Required]. It opens no connection and looks up no address.
package config
