package main

import (
	"context"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

func missing(ctx context.Context) error {
	sender, err := bus.NewSender(run+"-missing", nil)
	if err != nil {
		return err
	}
	return isCode(sender.SendMessage(ctx, &azservicebus.Message{Body: []byte("x")}, nil), azservicebus.CodeNotFound)
}

func wrongKey(ctx context.Context) error {
	name, _, err := newQueue(ctx, nil)
	if err != nil {
		return err
	}
	connection := os.Getenv("SERVICEBUS_CONNECTION_STRING")
	stranger, err := azservicebus.NewClientFromConnectionString(strings.Replace(connection, "SharedAccessKey=", "SharedAccessKey=x", 1), nil)
	if err != nil {
		return err
	}
	sender, err := stranger.NewSender(name, nil)
	if err != nil {
		return err
	}
	return first(isCode(sender.SendMessage(ctx, &azservicebus.Message{Body: []byte("x")}, nil), azservicebus.CodeUnauthorizedAccess), stranger.Close(ctx))
}
