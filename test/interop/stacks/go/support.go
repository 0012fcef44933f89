package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

var made = 0

func newQueue(ctx context.Context, properties *admin.QueueProperties) (string, *azservicebus.Sender, error) {
	made++
	name := fmt.Sprintf("%s-%d", run, made)
	if _, err := entities.CreateQueue(ctx, name, &admin.CreateQueueOptions{Properties: properties}); err != nil {
		return "", nil, err
	}
	sender, err := bus.NewSender(name, nil)
	return name, sender, err
}

// start makes a queue with messages in it.
func start(ctx context.Context, properties *admin.QueueProperties, bodies ...string) (string, *azservicebus.Sender, *azservicebus.Receiver, error) {
	name, sender, err := newQueue(ctx, properties)
	if err != nil {
		return "", nil, nil, err
	}
	for _, body := range bodies {
		if err := sender.SendMessage(ctx, &azservicebus.Message{Body: []byte(body)}, nil); err != nil {
			return "", nil, nil, err
		}
	}
	receiver, err := bus.NewReceiverForQueue(name, nil)
	return name, sender, receiver, err
}

type receiving interface {
	ReceiveMessages(ctx context.Context, max int, options *azservicebus.ReceiveMessagesOptions) ([]*azservicebus.ReceivedMessage, error)
}

func take(ctx context.Context, from receiving, count int) ([]*azservicebus.ReceivedMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var all []*azservicebus.ReceivedMessage
	for len(all) < count {
		some, err := from.ReceiveMessages(ctx, count-len(all), nil)
		if err != nil {
			return all, fmt.Errorf("%d of %d messages: %w", len(all), count, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

func takeOne(ctx context.Context, from receiving, body string) (*azservicebus.ReceivedMessage, error) {
	messages, err := take(ctx, from, 1)
	if err != nil {
		return nil, err
	}
	return messages[0], same(string(messages[0].Body), body)
}

func nothing(ctx context.Context, from receiving) error {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	messages, err := from.ReceiveMessages(ctx, 1, nil)
	if len(messages) > 0 {
		return fmt.Errorf("a message came: %s", messages[0].Body)
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func same(is, ought any) error {
	if fmt.Sprint(is) != fmt.Sprint(ought) {
		return fmt.Errorf("%v instead of %v", is, ought)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func isCode(err error, code azservicebus.Code) error {
	var told *azservicebus.Error
	if !errors.As(err, &told) {
		return fmt.Errorf("%v instead of %s", err, code)
	}
	return same(told.Code, code)
}

func ptr[T any](value T) *T {
	return &value
}
