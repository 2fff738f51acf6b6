module github.com/millrace/millrace/sdk/go/v2

go 1.23
