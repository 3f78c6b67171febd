from django.http import Http404
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from usergroups.models import UserGroup


@csrf_exempt  # The token gives access, not a cookie.
@xframe_options_exempt
@never_cache
@require_POST
@sensitive_post_parameters("token")
def dashboard(request):
    try:
        user_group = UserGroup.objects.get_by_token(request.POST.get("token", ""))
    except UserGroup.DoesNotExist:
        raise Http404 from None
    return render(request, "notes/dashboard.html", {"user_group": user_group})
