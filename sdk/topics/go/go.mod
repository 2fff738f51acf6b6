module github.com/millrace/millrace/sdk/topics/go

go 1.25
