package main

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

func topics(ctx context.Context) error {
	topic := run + "-topic"
	if _, err := entities.CreateTopic(ctx, topic, nil); err != nil {
		return err
	}
	if _, err := entities.CreateSubscription(ctx, topic, "sub", nil); err != nil {
		return err
	}
	if _, err := entities.DeleteRule(ctx, topic, "sub", "$Default", nil); err != nil {
		return err
	}
	_, err := entities.CreateRule(ctx, topic, "sub", &admin.CreateRuleOptions{
		Name: ptr("red"), Filter: &admin.SQLFilter{Expression: "colour = @c", Parameters: map[string]any{"@c": "red"}},
		Action: &admin.SQLAction{Expression: "SET seen = 1"},
	})
	if err != nil {
		return err
	}
	_, err = entities.CreateRule(ctx, topic, "sub", &admin.CreateRuleOptions{
		Name: ptr("label"), Filter: &admin.CorrelationFilter{Subject: ptr("x"), ApplicationProperties: map[string]any{"n": int64(1)}},
	})
	if err != nil {
		return err
	}
	rules := 0
	for pager := entities.NewListRulesPager(topic, "sub", nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return err
		}
		rules += len(page.Rules)
	}
	sender, err := bus.NewSender(topic, nil)
	if err != nil {
		return err
	}
	for _, colour := range []string{"blue", "red"} {
		err := sender.SendMessage(ctx, &azservicebus.Message{Body: []byte(colour), ApplicationProperties: map[string]any{"colour": colour}}, nil)
		if err != nil {
			return err
		}
	}
	receiver, err := bus.NewReceiverForSubscription(topic, "sub", nil)
	if err != nil {
		return err
	}
	message, err := takeOne(ctx, receiver, "red")
	if err != nil {
		return err
	}
	told, err := entities.GetSubscriptionRuntimeProperties(ctx, topic, "sub", nil)
	if err != nil {
		return err
	}
	return first(same(rules, 2), same(message.ApplicationProperties["seen"], 1), same(told.ActiveMessageCount, 1),
		receiver.CompleteMessage(ctx, message, nil), nothing(ctx, receiver))
}
