resource "aws_apigatewayv2_api" "this" {
  name          = local.name
  description   = "Takes OpenLineage events: /lineage signed with IAM, /api/v1/lineage with a Bearer key."
  protocol_type = "HTTP"
}

resource "aws_apigatewayv2_integration" "this" {
  api_id                 = aws_apigatewayv2_api.this.id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_function.http.invoke_arn
  payload_format_version = "2.0"
  timeout_milliseconds   = 29000
}

resource "aws_apigatewayv2_route" "signed" {
  api_id             = aws_apigatewayv2_api.this.id
  route_key          = "POST /lineage"
  authorization_type = "AWS_IAM"
  target             = "integrations/${aws_apigatewayv2_integration.this.id}"
}

resource "aws_apigatewayv2_authorizer" "keys" {
  count = var.keyed_emitters_enabled ? 1 : 0

  api_id                            = aws_apigatewayv2_api.this.id
  name                              = "keys"
  authorizer_type                   = "REQUEST"
  authorizer_uri                    = aws_lambda_function.authorizer[0].invoke_arn
  authorizer_payload_format_version = "2.0"
  enable_simple_responses           = true
  identity_sources                  = ["$request.header.Authorization"]
  # A key that was withdrawn is refused at once; the authorizer itself keeps what it has read for some minutes.
  authorizer_result_ttl_in_seconds = 0
}

resource "aws_apigatewayv2_route" "keyed" {
  count = var.keyed_emitters_enabled ? 1 : 0

  api_id             = aws_apigatewayv2_api.this.id
  route_key          = "POST /api/v1/lineage"
  authorization_type = "CUSTOM"
  authorizer_id      = aws_apigatewayv2_authorizer.keys[0].id
  target             = "integrations/${aws_apigatewayv2_integration.this.id}"
}

resource "aws_apigatewayv2_stage" "this" {
  api_id      = aws_apigatewayv2_api.this.id
  name        = "$default"
  auto_deploy = true

  default_route_settings {
    throttling_rate_limit  = var.throttling.rate
    throttling_burst_limit = var.throttling.burst
  }

  access_log_settings {
    destination_arn = aws_cloudwatch_log_group.this["/aws/apigateway/${local.name}"].arn
    # Who, when, how it ended; nothing of the event.
    format = jsonencode({
      requestId = "$context.requestId", at = "$context.requestTime", route = "$context.routeKey", status = "$context.status",
      caller    = "$context.identity.userArn", latency = "$context.responseLatency", error = "$context.error.message"
    })
  }
}

resource "aws_lambda_permission" "api" {
  statement_id  = "api"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.http.function_name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_apigatewayv2_api.this.execution_arn}/*/POST/*"
}

resource "aws_lambda_permission" "authorizer" {
  count = var.keyed_emitters_enabled ? 1 : 0

  statement_id  = "api"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.authorizer[0].function_name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_apigatewayv2_api.this.execution_arn}/authorizers/${aws_apigatewayv2_authorizer.keys[0].id}"
}
