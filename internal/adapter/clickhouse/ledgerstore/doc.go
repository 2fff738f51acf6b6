// Package ledgerstore keeps in ClickHouse what became of every range, and asks there whether
// it is true: entries and marks, the list of dirty days, rollups against their base, and rows
// against records.
//
// It promises that a read sees what any replica had when it began: an older response could
// cut ranges anew. It changes no rows of records, and of rollups only those of days that it is
// told to rebuild.
package ledgerstore
