// Package thirdparty knows what of others is in the programs that are shipped:
// the modules that the commands link on any platform of a release, Go itself, and
// the data and scripts that they embed; each with its licence.
//
// It promises that everything listed is under a licence of the list of those that
// suit a program under Apache-2.0, and that its text was found where the others
// keep it: what is not is an error, which fails the build. Licences are told by
// their texts, not by what anybody says of them.
package thirdparty
