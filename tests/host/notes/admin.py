from django.contrib import admin

from usergroups.tokens.admin import TokenAdmin

from .report_tokens import ReportToken


@admin.register(ReportToken)
class ReportTokenAdmin(TokenAdmin):
    owner_form_fields = ("team",)
    autocomplete_fields = ("team",)
    ordering = ("-id",)
