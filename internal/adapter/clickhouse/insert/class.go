package insert

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// classes says what a response of the server means for a block. A code that is
// not in it is ClassOther, which is tried again like all others.
var classes = map[proto.Error]sink.Class{
	252: sink.ClassBusy, // TOO_MANY_PARTS
	202: sink.ClassBusy, // TOO_MANY_SIMULTANEOUS_QUERIES
	201: sink.ClassBusy, // QUOTA_EXCEEDED
	236: sink.ClassBusy, // ABORTED: shutting down, or merges stopped
	394: sink.ClassBusy, // QUERY_WAS_CANCELLED
	745: sink.ClassBusy, // SERVER_OVERLOADED

	241: sink.ClassMemory, // MEMORY_LIMIT_EXCEEDED
	173: sink.ClassMemory, // CANNOT_ALLOCATE_MEMORY

	243: sink.ClassDisk, // NOT_ENOUGH_SPACE
	164: sink.ClassDisk, // READONLY
	499: sink.ClassDisk, // S3_ERROR
	75:  sink.ClassDisk, // CANNOT_WRITE_TO_FILE_DESCRIPTOR
	74:  sink.ClassDisk, // CANNOT_READ_FROM_FILE_DESCRIPTOR
	76:  sink.ClassDisk, // CANNOT_OPEN_FILE

	159: sink.ClassTimeout, // TIMEOUT_EXCEEDED
	160: sink.ClassTimeout, // TOO_SLOW
	209: sink.ClassTimeout, // SOCKET_TIMEOUT
	210: sink.ClassNetwork, // NETWORK_ERROR
	279: sink.ClassNetwork, // ALL_CONNECTION_TRIES_FAILED

	999: sink.ClassKeeper, // KEEPER_EXCEPTION
	242: sink.ClassKeeper, // TABLE_IS_READ_ONLY
	225: sink.ClassKeeper, // NO_ZOOKEEPER
	285: sink.ClassKeeper, // TOO_FEW_LIVE_REPLICAS
	286: sink.ClassKeeper, // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
	319: sink.ClassKeeper, // UNKNOWN_STATUS_OF_INSERT

	60:  sink.ClassSchema, // UNKNOWN_TABLE
	81:  sink.ClassSchema, // UNKNOWN_DATABASE
	16:  sink.ClassSchema, // NO_SUCH_COLUMN_IN_TABLE
	47:  sink.ClassSchema, // UNKNOWN_IDENTIFIER
	115: sink.ClassSchema, // UNKNOWN_SETTING
	497: sink.ClassSchema, // ACCESS_DENIED
	516: sink.ClassSchema, // AUTHENTICATION_FAILED
	218: sink.ClassSchema, // TABLE_IS_DROPPED

	6:   sink.ClassRejected, // CANNOT_PARSE_TEXT
	27:  sink.ClassRejected, // CANNOT_PARSE_INPUT_ASSERTION_FAILED
	43:  sink.ClassRejected, // ILLEGAL_TYPE_OF_ARGUMENT
	53:  sink.ClassRejected, // TYPE_MISMATCH
	70:  sink.ClassRejected, // CANNOT_CONVERT_TYPE
	117: sink.ClassRejected, // INCORRECT_DATA
	321: sink.ClassRejected, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
	469: sink.ClassRejected, // VIOLATED_CONSTRAINT
}

// tooManyPartitions is how the server words the other meaning of code 252: a
// block over several months, which would be our own fault.
const tooManyPartitions = "Too many partitions"

// Classify says what an error of an insert means for the block.
func Classify(err error) *sink.InsertError {
	e := &sink.InsertError{Class: sink.ClassOther, Err: err}
	exception, isException := ch.AsException(err)
	_, isNet := errors.AsType[net.Error](err)
	switch {
	case isException:
		if class, ok := classes[exception.Code]; ok {
			e.Class = class
		}
		if exception.Code == 252 && contains(exception.Message, tooManyPartitions) {
			e.Class = sink.ClassRejected
		}
	case errors.Is(err, context.DeadlineExceeded):
		e.Class = sink.ClassTimeout
	case isNet, clickhouse.Broken(err):
		e.Class = sink.ClassNetwork
	}
	return e
}

func contains(message, part string) bool {
	return strings.Contains(strings.ToLower(message), strings.ToLower(part))
}
