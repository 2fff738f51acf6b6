// Package enrich finds out what a browser's request tells beyond its body: the
// browser and system of a user agent, the country of an address, where a visit
// comes from, and the page as it is counted.
//
// It promises that everything is a function of its arguments and of tables that
// say where they are from; that what it returns never contains the address, nor
// any text of a user agent but numbers of versions; that every output has a
// bound; and that nothing is allocated for what was seen before. It refuses to
// guess: what is in no table is empty or "other". Whom it is asked about, and
// what becomes of bots and excluded pages, is for package ingest to say.
package enrich
